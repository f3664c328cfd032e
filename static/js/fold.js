// Tables: columns that do not fit into their card are folded; a button in the first cell opens the row and shows them.
(() => {
  "use strict";
  const MOST_COLUMNS = 40;
  const BUTTON_PX = 34;
  const boxes = ".table__scroll, .lanes__table, .help__table";
  const folds = new WeakMap();  // table -> numbers of the folded columns, from 1

  const sheet = new CSSStyleSheet();
  for (let number = 1; number <= MOST_COLUMNS; number += 1) {
    sheet.insertRule(`@media screen { [data-folds~="${number}"] > * > tr:not(.folded, :has(> [colspan])) > :nth-child(${number}) { display: none; } }`);
  }
  document.adoptedStyleSheets.push(sheet);

  const tableIn = (box) => box.querySelector(":scope > table, :scope > form > table");
  const headsOf = (table) => (table.tHead?.rows.length === 1 ? [...table.tHead.rows[0].cells] : []);
  const rowsOf = (table) => [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.matches(".folded, .table__none"));

  function canFold(table) {
    return !table.querySelector("[rowspan]") && !table.matches(".matrix") && headsOf(table).length <= MOST_COLUMNS;
  }

  // A larger data-fold goes first, then the last column; the first one and those with fields stay.
  function inOrder(table, heads) {
    const rows = rowsOf(table);
    const hasField = (index) => rows.some((row) => row.cells[index]?.querySelector("input, select, textarea"));
    const rank = (index) => Number(heads[index].dataset.fold ?? 0);
    return heads.map((_, index) => index).slice(1).filter((index) => !hasField(index)).sort((a, b) => rank(b) - rank(a) || b - a);
  }

  function measure(box, table) {
    delete table.dataset.folds;
    const folded = [];
    let excess = table.offsetWidth - box.clientWidth;
    if (excess > 0 && canFold(table)) {
      const heads = headsOf(table);
      const widths = heads.map((head) => head.offsetWidth);
      excess += BUTTON_PX;
      for (const index of inOrder(table, heads)) {
        if (excess <= 0) break;
        folded.push(index + 1);
        excess -= widths[index];
      }
    }
    folds.set(table, folded.sort((a, b) => a - b));
  }

  function toggleOf(row) {
    const known = row.cells[0].querySelector(":scope > .fold");
    if (known) return known;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.dataset.kept = "";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "More columns");
    row.cells[0].prepend(button);
    return button;
  }

  function detailsOf(row, heads, numbers) {
    const line = document.createElement("tr");
    line.className = "folded";
    line.dataset.kept = "";
    const cell = line.insertCell();
    cell.colSpan = heads.length - numbers.length;
    const list = document.createElement("dl");
    list.className = "properties";
    for (const number of numbers) {
      const [name, value] = [document.createElement("dt"), document.createElement("dd")];
      name.append(...heads[number - 1].cloneNode(true).childNodes);
      value.append(...row.cells[number - 1].cloneNode(true).childNodes);
      for (const copied of value.querySelectorAll("[id]")) copied.removeAttribute("id");
      list.append(name, value);
    }
    cell.append(list);
    return line;
  }

  // The line below an open row; what the server changed is patched, so that focus stays.
  function lineOf(row, heads, numbers) {
    if (toggleOf(row).getAttribute("aria-expanded") !== "true") return null;
    const fresh = detailsOf(row, heads, numbers);
    const line = row.nextElementSibling;
    if (line?.matches(".folded")) crosslogPatch(line, fresh);
    else row.after(fresh);
    return row.nextElementSibling;
  }

  function show(table) {
    const numbers = folds.get(table) ?? [];
    const heads = headsOf(table);
    if (numbers.length) table.dataset.folds = numbers.join(" ");
    else delete table.dataset.folds;
    const rows = numbers.length ? rowsOf(table).filter((row) => row.cells.length === heads.length) : [];
    const lines = new Set(rows.map((row) => lineOf(row, heads, numbers)));
    // Rows that moved or went have left theirs behind.
    for (const line of table.querySelectorAll("tr.folded")) if (!lines.has(line)) line.remove();
  }

  function fit(box) {
    const table = tableIn(box);
    if (!table || !box.clientWidth) return;
    measure(box, table);
    show(table);
  }

  const widths = new WeakMap();
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (widths.get(target) === target.clientWidth) continue;
      widths.set(target, target.clientWidth);
      fit(target);
    }
  });

  // After an answer of the server: the same columns stay folded, unless it has others or wider ones.
  function adopt() {
    for (const box of document.querySelectorAll(boxes)) {
      sizes.observe(box);
      const table = tableIn(box);
      if (!table) continue;
      show(table);
      const isOther = (folds.get(table) ?? []).some((number) => number > headsOf(table).length);
      if (isOther || table.offsetWidth > box.clientWidth) fit(box);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.fold");
    if (!button) return;
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    show(button.closest("table"));
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.open) for (const box of event.target.querySelectorAll(boxes)) fit(box);
  }, true);
  document.addEventListener("DOMContentLoaded", adopt);
  document.addEventListener("htmx:afterSwap", adopt);
})();
