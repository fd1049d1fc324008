// What is wrong with what a page shows.
import { readFileSync } from 'node:fs'

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

// faults returns what inspect sees, and the violations of the rules of axe-core.
export async function faults(page) {
  const wrong = await page.evaluate(inspect)
  await page.evaluate(axe)
  return [...wrong, ...(await page.evaluate(async () => (await window.axe.run()).violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(' ')}`)))]
}

// inspect runs in the page and returns what is wrong with what is visible: parts beyond the edge, that scroll sideways or are cut off, overlapping words,
// fields without a name, text with too little contrast (WCAG AA), rings of the focus that are cut, and small targets for fingers.
function inspect() {
  const out = []
  const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0
  const name = (e) => `${e.tagName.toLowerCase()}.${e.className} "${(e.textContent ?? '').trim().slice(0, 30)}"`

  if (document.documentElement.scrollWidth > innerWidth) out.push(`the page is ${document.documentElement.scrollWidth} wide`)
  for (const e of document.querySelectorAll('main, .panel, header, .foot, nav')) {
    if (seen(e) && e.getBoundingClientRect().right > innerWidth + 0.5) out.push(`${name(e)} ends at ${e.getBoundingClientRect().right}`)
  }

  for (const e of document.querySelectorAll('body *')) {
    // A row of tabs, the chips of the series and exact errors may scroll sideways.
    if (seen(e) && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX) && !e.matches('[role=tablist], .chips, pre, input')) out.push(`${name(e)} scrolls sideways: ${e.scrollWidth} in ${e.clientWidth}`)
  }

  // What is cut off at the bottom and does not scroll cannot be reached.
  for (const e of document.querySelectorAll('.panel, main, header, section, form, article, .column, .body')) {
    if (seen(e) && e.scrollHeight > e.clientHeight + 1 && /hidden|clip/.test(getComputedStyle(e).overflowY)) out.push(`${name(e)} is cut off: ${e.scrollHeight} px in ${e.clientHeight}`)
  }

  for (const e of document.querySelectorAll('input, select, textarea, button, [role=switch]')) {
    if (!seen(e)) continue
    const said = e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || [...(e.labels ?? [])].map((l) => l.textContent).join('') || (e.tagName === 'BUTTON' ? e.textContent + (e.title ?? '') : '')
    if (!said.trim()) out.push(`${name(e)} [${e.name}] has no label`)
  }

  // Words that are drawn over other words. What scrolls or is cut off counts as far as it shows.
  const words = []
  const leaves = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = leaves.nextNode(); text; text = leaves.nextNode()) {
    const e = text.parentElement
    if (!text.data.trim() || !seen(e) || e.closest('.hidden, [data-test=notice], [data-test=result-card], [data-test=approvals], thead, .bar, dialog')) continue
    const range = document.createRange()
    range.selectNodeContents(text)
    for (const r of range.getClientRects()) {
      let [left, top, right, bottom] = [Math.max(0, r.left), Math.max(0, r.top), Math.min(innerWidth, r.right), Math.min(innerHeight, r.bottom)]
      for (let at = e; at; at = at.parentElement) {
        if (getComputedStyle(at).overflow === 'visible') continue
        const box = at.getBoundingClientRect()
        ;[left, top, right, bottom] = [Math.max(left, box.left), Math.max(top, box.top), Math.min(right, box.right), Math.min(bottom, box.bottom)]
      }
      if (right - left > 1 && bottom - top > 1) words.push({ e, of: text, text: text.data.trim().slice(0, 30), left, top, right, bottom })
    }
  }
  words.forEach((a, i) => {
    for (const b of words.slice(i + 1)) {
      if (a.of === b.of) continue // a text that is cut off counts whole and cut
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      if (wide > 2 && high > 4 && !a.e.closest('.submit') && !b.e.closest('.submit')) out.push(`"${a.text}" and "${b.text}" overlap by ${wide.toFixed(0)} × ${high.toFixed(0)}`)
    }
  })

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data
    return [r, g, b, a / 255]
  }
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]))
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * (c[i] / 255 <= 0.04045 ? c[i] / 255 / 12.92 : ((c[i] / 255 + 0.055) / 1.055) ** 2.4), 0)
  const behind = (e) => {
    const layers = []
    for (let at = e; at; at = at.parentElement) {
      const c = rgba(getComputedStyle(at).backgroundColor)
      if (c[3] > 0) layers.push(c)
      if (c[3] === 1) break
    }
    return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255])
  }
  const checked = new Set()
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const e = text.parentElement
    if (!text.data.trim() || checked.has(e) || !seen(e) || e.closest(':disabled, [aria-disabled=true], .waiting, [aria-hidden=true], .hidden, canvas')) continue
    checked.add(e)
    const style = getComputedStyle(e)
    const back = behind(e)
    const front = over(rgba(style.color), back)
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x)
    const size = Number.parseFloat(style.fontSize)
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    const ratio = (a + 0.05) / (b + 0.05)
    if (ratio < (large ? 3 : 4.5)) out.push(`${name(e)} has contrast ${ratio.toFixed(2)}`)
  }

  // The ring of what has the focus must show whole, however its ancestors cut off what is theirs.
  const focused = document.activeElement
  for (const e of document.querySelectorAll('button, select, input, summary, a, [tabindex="0"]')) {
    if (!seen(e) || e.disabled || e.tabIndex < 0 || e.closest('dialog, [inert]')) continue
    e.focus({ preventScroll: true, focusVisible: true })
    if (!e.matches(':focus-visible')) continue
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(e)
    const by = outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth) + Number.parseFloat(outlineOffset)
    const box = e.getBoundingClientRect()
    for (let at = e.parentElement; at && by > 0; at = at.parentElement) {
      if (getComputedStyle(at).overflow === 'visible' || at === document.body) continue
      const cut = at.getBoundingClientRect()
      if (box.left < cut.left || box.right > cut.right || box.top < cut.top || box.bottom > cut.bottom) break // scrolled away in part
      const [wide, high] = [at.scrollWidth > at.clientWidth, at.scrollHeight > at.clientHeight] // the browser scrolls until it shows whole
      const most = Math.max(...(wide ? [] : [cut.left - box.left, box.right - cut.right]), ...(high ? [] : [cut.top - box.top, box.bottom - cut.bottom])) + by
      if (most > 0.5) out.push(`the focus ring of ${name(e)} is cut by ${most.toFixed(1)} px at ${name(at)}`)
    }
  }
  focused?.focus({ preventScroll: true })

  if (innerWidth < 500) {
    // A link inside a sentence has the height of its line.
    const inline = (e) => e.tagName === 'A' && [...e.parentElement.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim().length > 1)
    for (const e of document.querySelectorAll('button, select, input, summary, a')) {
      if (!seen(e) || e.closest('dialog') || inline(e)) continue
      const target = e.matches('[type=checkbox]') ? (e.closest('label') ?? e) : e
      const box = target.getBoundingClientRect()
      const more = getComputedStyle(target, '::after') // may widen what a finger hits
      const [wide, high] = ['width', 'height'].map((side) => Math.max(box[side], more.position === 'absolute' ? Number.parseFloat(more[side]) || 0 : 0))
      if (box.height > 0 && (high < 43.5 || wide < 43.5)) out.push(`${name(e)} [${e.name ?? ''}] is ${wide.toFixed(0)} × ${high.toFixed(0)} px`)
      if (e.matches('input:not([type=checkbox]), select') && Number.parseFloat(getComputedStyle(e).fontSize) < 16) out.push(`${name(e)} makes a phone zoom in`)
    }
  }
  return [...new Set(out)]
}
