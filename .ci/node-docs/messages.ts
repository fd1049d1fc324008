// Uses the types of messages as a client would. It compiles if they have the names and the values of the
// document.
import { OrderStatus } from "./OrderStatus";
import { SubscribeMessage } from "./SubscribeMessage";
import { UserOrderMessage } from "./UserOrderMessage";
import { WsSubscribeChannels } from "./WsSubscribeChannels";

export const subscribe: SubscribeMessage = { cmd: "subscribe", id: 1, params: { channels: [WsSubscribeChannels.USER] } };

export function isDone(m: UserOrderMessage): boolean {
  return m.msg.order.reservedStatus === OrderStatus.EXECUTED;
}
