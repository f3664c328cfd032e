// Theme and clock: remembered in a cookie, so that the server writes the right one into the first byte.
(() => {
  "use strict";
  const YEAR_S = 365 * 24 * 3600;
  const root = document.documentElement;

  function remember(name, value) {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `${name}=${value}; path=/; max-age=${YEAR_S}; samesite=lax${secure}`;
  }

  function choose(group, button) {
    const name = group.dataset.preference;
    remember(name, button.value);
    root.dataset[name] = button.value;
    // The same choice may stand in the menu and beside the time range.
    for (const each of document.querySelectorAll(`[data-preference="${name}"] button`)) {
      each.setAttribute("aria-pressed", String(each.value === button.value));
    }
    document.dispatchEvent(new CustomEvent("crosslog:preference", { detail: name }));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-preference] button");
    if (button) choose(button.closest("[data-preference]"), button);
  });
})();
