// A button on every block of code that copies it; pages opened from disk have a clipboard, too, in current browsers.
for (const block of document.querySelectorAll("div.highlight")) {
  const button = document.createElement("button");
  Object.assign(button, { className: "copy", type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd() + "\n");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  if (navigator.clipboard) block.append(button);
}
