// Tables: filter while typing, sort and turn pages in place; the address always says what is shown.
(() => {
  "use strict";
  const TYPING_MS = 250;
  let timer = 0;
  let shown = location.pathname + location.search;

  // Several tables may share one live part; the answer replaces that part.
  const liveOf = (element) => element.closest("[data-refresh]") ?? element.closest("[data-table]");

  async function show(element, address, isNewStep) {
    const url = new URL(address, location.href);
    const target = liveOf(element);
    history[isNewStep ? "pushState" : "replaceState"]({ crosslog: true }, "", url);
    shown = url.pathname + url.search;
    target.setAttribute("aria-busy", "true");
    await htmx.ajax("GET", url.pathname + url.search, { source: target, target, swap: "patch" }).catch(() => location.assign(url));
    target.removeAttribute("aria-busy");
  }

  function addressOf(form) {
    const url = new URL(form.getAttribute("action") || location.pathname, location.href);
    const boxes = form.querySelectorAll("input[type=checkbox]");
    const areAllShown = [...boxes].every((box) => box.checked === box.defaultChecked) && !location.search.includes(boxes[0]?.name + "=");
    url.search = "";
    for (const [name, value] of new FormData(form)) {
      const isDefaultColumn = areAllShown && boxes[0]?.name === name;
      if (value && !isDefaultColumn) url.searchParams.append(name, value);
    }
    return url;
  }

  function send(form) {
    clearTimeout(timer);
    show(form, addressOf(form), false);
  }

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-filter]");
    if (!form) return;
    clearTimeout(timer);
    timer = setTimeout(() => send(form), event.target.type === "search" ? TYPING_MS : 0);
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-filter]");
    if (!form) return;
    event.preventDefault();
    send(form);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-table] :is(thead, .pages, .table__tools, .table__none) a:not([download])");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain) return;
    event.preventDefault();
    show(link, link.href, true);
  });

  // The page before is queried again: rows that changed in the meantime must not come from a cache.
  // A jump within the page (#main) changes nothing.
  addEventListener("popstate", () => {
    if (location.pathname + location.search !== shown) location.reload();
  });

  function hideApplyButtons() {
    for (const button of document.querySelectorAll(".table__apply")) button.dataset.quiet = "";
  }
  document.addEventListener("DOMContentLoaded", hideApplyButtons);
  document.addEventListener("htmx:afterSwap", hideApplyButtons);
})();
