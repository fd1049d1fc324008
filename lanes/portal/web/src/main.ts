import { mount } from 'svelte'
import './app.css'
import './font.css'
import App from './app/App.svelte'

const target = document.getElementById('app')
if (target) {
  target.replaceChildren()
  mount(App, { target })
}
