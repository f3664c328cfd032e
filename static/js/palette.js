// Jump to anything: pages at once from the rail, clusters, topics, groups and flows from the server.
(() => {
  "use strict";
  const TYPING_MS = 120;
  let timer = 0;
  let asked = 0;

  const palette = document.getElementById("palette");
  if (!palette) return;
  const field = document.getElementById("palette-words");
  const list = document.getElementById("palette-list");

  const pages = () => [...document.querySelectorAll(".rail > nav a, .tabs a, .rail__foot a, .tools a.btn")].map((link) => ({
    kind: link.closest(".tabs, .tools") ? "on this page" : "page",
    label: link.firstChild.textContent.trim(),
    path: link.getAttribute("href"),
    detail: "",
  }));

  function fits(place, words) {
    const text = `${place.label} ${place.detail} ${place.kind}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function piece(className, text) {
    const span = document.createElement("span");
    span.className = className;
    span.textContent = text;
    return span;
  }

  function item(place, index) {
    const entry = document.createElement("li");
    entry.id = `palette-${index}`;
    entry.role = "option";
    entry.dataset.path = place.path;
    entry.append(piece("palette__kind", place.kind), piece("palette__label", place.label), piece("palette__detail", place.detail));
    return entry;
  }

  function choose(entry) {
    for (const each of list.children) each.setAttribute("aria-selected", String(each === entry));
    field.setAttribute("aria-activedescendant", entry?.id ?? "");
    entry?.scrollIntoView({ block: "nearest" });
  }

  const entries = () => [...list.querySelectorAll("li")];
  const chosen = () => entries().findIndex((entry) => entry.getAttribute("aria-selected") === "true");

  function show(places, index = 0) {
    list.replaceChildren(...places.map(item));
    if (!places.length) list.append(piece("palette__kind", "Nothing fits."));
    choose(entries()[index]);
  }

  async function search() {
    const text = field.value.trim().toLowerCase();
    const near = pages().filter((place) => fits(place, text.split(/\s+/)));
    show(near);
    if (!text) return;
    const turn = ++asked;
    const answer = await fetch(`${field.dataset.src}${field.dataset.src.includes("?") ? "&" : "?"}q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" } });
    if (turn !== asked || !answer.ok) return;
    const { jumps } = await answer.json();
    // Somebody may have gone down the list meanwhile: what was there stays where it was.
    show([...near, ...jumps], Math.max(0, chosen()));
  }

  function go(entry) {
    if (entry?.dataset.path) location.assign(entry.dataset.path);
  }

  function move(step) {
    const all = entries();
    choose(all[(chosen() + step + all.length) % all.length]);
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, TYPING_MS);
  });
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); move(step); }
    if (event.key === "Enter") { event.preventDefault(); go(entries()[chosen()]); }
  });
  list.addEventListener("click", (event) => go(event.target.closest("li")));
  new MutationObserver(() => {
    if (!palette.open) return;
    field.value = "";
    search();
    field.focus();
  }).observe(palette, { attributes: true, attributeFilter: ["open"] });
})();
