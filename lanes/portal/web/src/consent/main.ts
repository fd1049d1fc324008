import { mount } from 'svelte'
import '../app.css'
import '../font.css'
import Page from './Page.svelte'
import { readRequest } from './request.ts'

const target = document.getElementById('app')
if (target) {
  target.replaceChildren()
  mount(Page, { target, props: { request: readRequest() } })
}
