// The page of the API: Swagger UI with the schema of this console; reads can be tried with the session.
(async () => {
  const place = document.getElementById("api-docs");
  const answer = await fetch(place.dataset.schema, { headers: { Accept: "application/json" } });
  const spec = await answer.json();
  spec.servers = [{ url: location.origin }];
  if (document.documentElement.dataset.theme === "dark" ||
      (document.documentElement.dataset.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches)) {
    document.documentElement.classList.add("dark-mode");
  }
  window.SwaggerUIBundle({
    spec, domNode: place, docExpansion: "none", deepLinking: true, supportedSubmitMethods: ["get"],
    presets: [window.SwaggerUIBundle.presets.apis],
  });
})();
