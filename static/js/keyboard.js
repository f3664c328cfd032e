// Keys for the whole page. Inside a field or a dialog they belong to the field.
(() => {
  "use strict";

  const isTyping = (element) => element.closest("input, textarea, select, [contenteditable], dialog[open]") !== null;
  const rowLinks = () => [...document.querySelectorAll("main tbody tr:not(.folded)")]
    .map((row) => row.querySelector("a, button:not(.fold)") ?? row.querySelector("button"))
    .filter(Boolean);

  function moveRow(step) {
    const links = rowLinks();
    const current = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = current < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, current + step));
    links[next]?.focus();
    links[next]?.scrollIntoView({ block: "nearest" });
  }

  function focusFilter() {
    const field = document.querySelector("form[data-filter] input[type=search]");
    field?.focus();
    field?.select();
  }

  const KEYS = {
    "/": focusFilter,
    j: () => moveRow(1),
    k: () => moveRow(-1),
    "[": () => document.querySelector(".pages [rel=prev]")?.click(),
    "]": () => document.querySelector(".pages [rel=next]")?.click(),
    p: () => document.dispatchEvent(new CustomEvent("crosslog:toggle-live")),
    "?": () => document.getElementById("shortcuts")?.showModal(),
  };

  function openPalette(event) {
    event.preventDefault();
    const palette = document.getElementById("palette");
    if (palette && !palette.open) palette.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { openPalette(event); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.matches("form[data-filter] input")) event.target.blur();
    const action = KEYS[event.key];
    if (!action || isTyping(event.target)) return;
    event.preventDefault();
    action();
  });
})();
