// The page of the API: Swagger UI with the schema of this console; reads can be tried with the session.
(async () => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    const { theme } = root.dataset;
    root.classList.toggle("dark-mode", theme === "dark" || (theme === "auto" && dark.matches));
  };
  dark.addEventListener("change", paint);
  new MutationObserver(paint).observe(root, { attributeFilter: ["data-theme"] });
  paint();
  const place = document.getElementById("api-docs");
  const answer = await fetch(place.dataset.schema, { headers: { Accept: "application/json" } });
  if (!answer.ok) {
    place.textContent = `The schema could not be loaded (${answer.status}). Reload the page.`;
    return;
  }
  const spec = await answer.json();
  spec.servers = [{ url: location.origin }];
  // Swagger UI draws a second main, inside that of the page.
  new MutationObserver((_, observer) => {
    const main = place.querySelector("main");
    if (!main) return;
    main.role = "group";
    observer.disconnect();
  }).observe(place, { childList: true, subtree: true });
  window.SwaggerUIBundle({
    spec, domNode: place, docExpansion: "none", deepLinking: true, supportedSubmitMethods: ["get"],
  });
})();
