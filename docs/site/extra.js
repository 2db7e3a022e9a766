// A link beside each block of Sema opens it in the playground; a line in the footer leads to the page as Markdown.
(() => {
  const root = new URL("..", document.currentScript.src).href;

  function decorate() {
    for (const block of document.querySelectorAll(".language-sema.highlight, .language-lisp.highlight")) {
      if (block.querySelector(".sema-run")) continue;
      const link = document.createElement("a");
      link.className = "sema-run";
      link.href = `${root}playground/index.html#text=${encodeURIComponent(block.querySelector("code").innerText)}`;
      link.textContent = "Try it";
      link.title = "Open in the playground";
      block.style.position = "relative";
      block.append(link);
    }
    const content = document.querySelector("article.md-content__inner, .md-content article");
    if (content && !content.querySelector(".sema-markdown")) {
      const link = document.createElement("a");
      link.className = "sema-markdown";
      link.href = location.pathname.replace(/\.html$/, ".md").replace(/\/$/, "/index.md");
      link.textContent = "This page as Markdown";
      const line = document.createElement("p");
      line.append(link);
      content.append(line);
    }
  }

  if (window.document$) window.document$.subscribe(decorate);
  else if (document.readyState === "loading") addEventListener("DOMContentLoaded", decorate);
  else decorate();
})();
