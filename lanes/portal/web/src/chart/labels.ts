const GAP = 4 // px between a label and the line before it

// fitted returns which label each stretch shows: the first of its labels, in fewer and fewer
// words, that fits between the end of the stretch before it and its own. It is undefined for a
// stretch without enough room. Stretches are in order of time; ends and widths are in px.
export function fitted(stretches: readonly { end: number; labels: readonly string[] }[], width: (label: string) => number): (string | undefined)[] {
  let taken = 0
  return stretches.map(({ end, labels }) => {
    const label = labels.find((l) => end - GAP - width(l) >= taken)
    if (label !== undefined) taken = end + GAP
    return label
  })
}
