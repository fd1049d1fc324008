import { mount } from 'svelte'
import '../app.css'
import './page.css'
import App from './App.svelte'

const target = document.getElementById('app')
if (target) {
  target.replaceChildren()
  mount(App, { target })
}
