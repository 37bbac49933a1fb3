// Elements without innerHTML: what a user named is only ever text.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function vector(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function clip(text, length) {
  const letters = [...text]; // a letter outside the basic plane is two units, and half of it is none
  return letters.length > length ? letters.slice(0, length - 1).join("") + "…" : text;
}

function rows(pairs) {
  const body = make("tbody");
  for (const [name, value] of pairs) body.append(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  return make("table", { class: "facts" }, body);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function download(name, blob) {
  const link = make("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
