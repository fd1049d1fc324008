// A timer that a tab in the background does not slow down. It is told a period in
// ms, 0 to stop.
let timer = 0

self.onmessage = (m: MessageEvent<number>) => {
  clearInterval(timer)
  if (m.data > 0) timer = self.setInterval(() => self.postMessage(0), m.data)
}
