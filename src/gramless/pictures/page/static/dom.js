// What all pages need of the browser: their elements, copies of templates, and what people are told.

export const at = (id) => document.getElementById(id);
export const copyOf = (template) => at(template).content.firstElementChild.cloneNode(true);

export function announce(text) {
  at("announcer").textContent = text;
}

export function notice(text) {
  at("notice").textContent = text;
}
