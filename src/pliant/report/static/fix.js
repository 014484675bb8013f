// Selects the view: before, after or both; key B cycles through them.

let looked = "before";

function look(which) {
  looked = which;
  const { view, scene } = state;
  scene.sides = SIDES[which];
  view.parts = scene.sides.length;
  view.head = $("legend").offsetTop + $("legend").offsetHeight;
  stage.classList.toggle("halves", view.parts === 2);
  if (!view.touched) view.fit();
  for (const button of document.querySelectorAll("#sides button")) button.setAttribute("aria-pressed", String(button.value === which));
  changed();
}

KEYS.b = () => look({ before: "after", after: "both", both: "before" }[looked]);

// a location that exists only before or only after the repair is shown on that side
canvas.addEventListener("gone", () => {
  const { side } = run.spots[shownSpot];
  if (looked !== "both") look(side ? "after" : "before");
});

window.pliant.ready = window.pliant.ready.then(() => {
  for (const button of document.querySelectorAll("#sides button")) button.onclick = () => look(button.value);
  look(canvas.clientWidth >= 560 ? "both" : "after");
});
window.pliant.look = look;
Object.defineProperty(window.pliant, "looked", { get: () => looked });
