// Light or dark, before anything is drawn: as chosen here, else as the system has it.

(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const paint = () => {
    root.dataset.theme = ["light", "dark"].find((one) => one === localStorage.getItem("sema-theme")) || "auto";
    root.dataset.colours = root.dataset.theme === "auto" ? (system.matches ? "dark" : "light") : root.dataset.theme;
    dispatchEvent(new Event("colours"));
  };
  system.addEventListener("change", paint);
  addEventListener("storage", paint);
  addEventListener("theme", paint);
  paint();
})();
