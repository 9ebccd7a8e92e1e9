// Elements made from text: whatever a text holds, it stays text.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function paragraphs(text) {
  return String(text).trim().split(/\n\s*\n/).filter(Boolean).map((part) => h("p", {}, part.trim().replace(/\s*\n\s*/g, " ")));
}

// Put a screen in place of the last one, and move the reader there.
export function show(...children) {
  const main = document.getElementById("main");
  main.replaceChildren(...children);
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
  window.scrollTo(0, 0);
}

export function banner(text, kind = "") {
  const place = document.getElementById("banner");
  place.hidden = !text;
  place.className = kind;
  place.textContent = text || "";
}
