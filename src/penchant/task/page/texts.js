// Words, from one file per language.

let words = {};

export async function loadTexts(language) {
  const reply = await fetch(`/assets/texts/${language}.json`);
  words = await reply.json();
  document.documentElement.lang = language;
}

export function t(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export function number(value) {
  return Number(value).toLocaleString(document.documentElement.lang, { maximumFractionDigits: 6 });
}
