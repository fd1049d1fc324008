// A timer that browsers do not slow down in a background tab. It receives its period in
// ms; 0 stops it.
let timer = 0

self.onmessage = (m: MessageEvent<number>) => {
  clearInterval(timer)
  if (m.data > 0) timer = self.setInterval(() => self.postMessage(0), m.data)
}
