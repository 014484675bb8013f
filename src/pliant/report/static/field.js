// Sliders for the slices; without this script the page shows the middle slices.
const pictures = JSON.parse(document.getElementById("pictures").textContent);
for (const figure of document.querySelectorAll(".slices figure")) {
  const { images, places } = pictures[figure.dataset.axis];
  const image = figure.querySelector("img");
  const slider = figure.querySelector("input");
  const said = figure.querySelector("output");
  const show = () => {
    image.src = images[slider.value];
    image.alt = `Slice at ${places[slider.value]}`;
    said.textContent = places[slider.value];
    slider.setAttribute("aria-valuetext", places[slider.value]);
  };
  slider.addEventListener("input", show);
  image.addEventListener("click", () => figure.classList.toggle("wide"));
  image.title = "Click to enlarge";
  slider.hidden = false;
  show();
}
window.pliant = { ready: Promise.all([...document.images].map((image) => image.decode())).then(() => true) };
