// Brings figures up to date; everything works without it.
"use strict";
(() => {
  const fields = new Map();
  document.querySelectorAll("[data-live]").forEach((one) => fields.set(one.dataset.live, one));
  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch("/crawl/live", { credentials: "same-origin" });
        if (answer.ok) {
          for (const [key, value] of Object.entries(await answer.json())) {
            const field = fields.get(key);
            if (field && field.textContent !== value) field.textContent = value;
          }
        }
      } catch { /* the server is away: the next look finds out */ }
    }
    setTimeout(look, 2000);
  };
  if (fields.size) setTimeout(look, 2000);
  // A page that is still being counted: what is there by then takes its place.
  const again = async () => {
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.querySelector("main");
      if (found && !page.querySelector("[data-again]")) {
        document.querySelector("main").replaceWith(found);
        return;
      }
    } catch { /* the next look finds out */ }
    setTimeout(again, 1000);
  };
  if (document.querySelector("[data-again]")) setTimeout(again, 700);
})();
