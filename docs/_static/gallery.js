// A click on a picture plays its page in place. Without this script the link opens the page.
for (const link of document.querySelectorAll("a.play")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab or window, as for any link
    event.preventDefault();
    const frame = document.createElement("iframe");
    const className = link.classList.contains("tall") ? "replay tall" : "replay";
    Object.assign(frame, { className, src: link.href, title: link.querySelector("img")?.alt ?? "A replay" });
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("allowfullscreen", "");
    link.replaceWith(frame);
    frame.focus();
  });
}
