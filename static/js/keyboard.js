// Keyboard shortcuts of the page; not inside a field or a dialog.
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

  const JUMP_MS = 1500;
  let jump = 0;

  function endJump() {
    const was = jump;
    clearTimeout(jump);
    jump = 0;
    return was;
  }

  // After g the key of a section of the sidebar opens it.
  function openSection(key) {
    const links = [...document.querySelectorAll("#rail-places [data-key]")];
    links.find((link) => link.dataset.key === key)?.click();
  }

  const KEYS = {
    g: () => { jump = setTimeout(endJump, JUMP_MS); },
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
    const isJump = endJump();
    if (isTyping(event.target)) return;
    const action = isJump ? () => openSection(event.key) : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
})();
