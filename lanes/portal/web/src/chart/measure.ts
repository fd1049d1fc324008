// widths returns a function that measures words in the type of the chart. Digits are all as wide as a zero,
// as the style sheet makes them.
export function widths(element: HTMLElement): (words: string, bold?: boolean) => number {
  const context = document.createElement('canvas').getContext('2d')!
  const { fontFamily, fontSize } = getComputedStyle(element)
  const known = new Map<string, number>()
  return (words, bold = false) => {
    const key = `${bold} ${words.replace(/\d/g, '0')}`
    let width = known.get(key)
    if (width === undefined) {
      context.font = `${bold ? 600 : 400} ${fontSize} ${fontFamily}`
      known.set(key, (width = Math.ceil(context.measureText(key.slice(key.indexOf(' ') + 1)).width) + 2))
    }
    return width
  }
}
