// htmx swap style "patch": changes only what differs, so that focus, scroll, selection and open menus stay.
(() => {
  "use strict";
  // What the reader or a script has set an answer of the server does not reset.
  const KEPT = { DETAILS: ["open"], DIALOG: ["open"] };

  // A field that is being filled in, or is in a form that is, keeps what the reader chose.
  function isInUse(field) {
    if (!field.matches("input:not([type=hidden]), select, textarea")) return false;
    const form = field.closest("form");
    return Boolean(form) && (form.contains(document.activeElement) || form.querySelector("details[open]") !== null);
  }

  function patchAttributes(old, fresh) {
    const kept = KEPT[old.nodeName] ?? [];
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
    }
  }

  // What the server would have chosen; a choice of the reader stays until the server changes its own.
  function defaultOf(field) {
    if (field.nodeName === "INPUT") return `${field.defaultValue} ${field.defaultChecked}`;
    if (field.nodeName === "SELECT") return [...field.options].filter((option) => option.defaultSelected).map((option) => option.value).join(" ");
    return "";
  }

  function takeDefault(old, fresh) {
    old.value = fresh.value;
    if (old.nodeName === "INPUT") old.checked = fresh.checked;
  }

  function patchNode(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return; }
    if (isInUse(old)) return;
    // charts.js owns the inside of a chart.
    if (old.matches(".chart") && old.dataset.src === fresh.dataset.src) return;
    // So does topology.js of its picture.
    if (old.matches("[data-drawn]")) return;
    const isNewDefault = defaultOf(old) !== defaultOf(fresh);
    patchAttributes(old, fresh);
    patchChildren(old, fresh);
    if (isNewDefault) takeDefault(old, fresh);
  }

  function isSameKind(old, fresh) {
    return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && (old.id ?? "") === (fresh.id ?? "");
  }

  // What fold.js adds to a table is not in the answer, and stays.
  function unkept(node) {
    while (node?.dataset?.kept !== undefined) node = node.nextSibling;
    return node;
  }

  function patchChildren(parent, fresh) {
    const named = new Map();
    for (const child of parent.children) if (child.id) named.set(child.id, child);
    let place = unkept(parent.firstChild);
    for (const wanted of [...fresh.childNodes]) {
      const twin = wanted.id ? named.get(wanted.id) : place;
      if (!twin || !isSameKind(twin, wanted)) { parent.insertBefore(wanted, place); continue; }
      if (twin === place) place = unkept(place.nextSibling);
      else parent.insertBefore(twin, place);
      patchNode(twin, wanted);
    }
    while (place) {
      const next = unkept(place.nextSibling);
      place.remove();
      place = next;
    }
  }

  window.crosslogPatch = patchChildren;

  // Around the live part: the heading with its state, the buttons, the tabs with their counts.
  const AROUND = ["heading", "page-tools", "page-tabs"];

  // The answer is the inside of the target, or a whole page that contains the target. A page without it
  // (null) has nothing that could take the place of the target's inside.
  function insideOf(target, fragment) {
    const twin = target.id && fragment.querySelector(`#${CSS.escape(target.id)}`);
    if (twin) return twin;
    return AROUND.some((id) => fragment.querySelector(`#${id}`)) ? null : fragment;
  }

  function isOpen(element) {
    return element.contains(document.activeElement?.closest("form")) || element.querySelector("details[open]") !== null;
  }

  function patchAround(fragment) {
    for (const id of AROUND) {
      const old = document.getElementById(id);
      const fresh = fragment.querySelector(`#${id}`);
      if (old && fresh && !isOpen(old)) patchChildren(old, fresh);
    }
  }

  htmx.defineExtension("patch", {
    isInlineSwap: () => false,
    handleSwap: (style, target, fragment) => {
      if (style !== "patch") return false;
      const inside = insideOf(target, fragment);
      if (!inside) { location.reload(); return []; }
      if (target.matches("[data-refresh]")) {
        patchAround(fragment);
        if (inside !== fragment && !inside.hasAttribute("data-refresh")) target.removeAttribute("data-refresh");
      }
      patchChildren(target, inside);
      return [];
    },
  });
})();
