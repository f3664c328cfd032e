// Small things with one click: menus that close again, dialogs, copying, asking before it is too late.
(() => {
  "use strict";
  const SHOWN_MS = 1500;

  function closeMenus(except) {
    for (const menu of document.querySelectorAll("details.menu[open], details.age--stale[open]")) {
      if (!menu.contains(except)) menu.open = false;
    }
  }

  async function copy(button) {
    const word = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      // Without TLS the browser has no clipboard: the text is selected for the reader's own keys.
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Press Ctrl-C";
    }
    setTimeout(() => { button.textContent = word; }, SHOWN_MS);
  }

  document.addEventListener("click", (event) => {
    closeMenus(event.target);
    const copier = event.target.closest("[data-copy]");
    if (copier) copy(copier);
    const opener = event.target.closest("[data-open]");
    if (opener) document.getElementById(opener.dataset.open)?.showModal();
    if (event.target instanceof HTMLDialogElement) event.target.close();
  });

  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.activeElement.closest("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
})();
