// How good the model is on pictures that it has not seen, by how many answered ones it learned from.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560;
const HEIGHT = 200;
const LEFT = 44;
const RIGHT = 60;
const BOTTOM = 28;
const TOP = 14;

export function drawCurve(svg, points) {
  const numbers = points.map(([number]) => number);
  const qualities = points.map(([, quality]) => quality);
  const least = Math.max(0, Math.floor(Math.min(...qualities) - 2));
  const most = Math.min(100, Math.ceil(Math.max(...qualities) + 2));
  const x = (number) => LEFT + (number / Math.max(1, ...numbers)) * (WIDTH - LEFT - RIGHT);
  const y = (quality) => TOP + ((most - quality) / Math.max(1, most - least)) * (HEIGHT - TOP - BOTTOM);
  const parts = [];
  for (const level of [least, most]) {
    parts.push(shape("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level) }));
    parts.push(text(`${level} %`, LEFT - 8, y(level) + 4, "end"));
  }
  for (const number of new Set([numbers[0], numbers.at(-1)])) parts.push(text(number, x(number), HEIGHT - 8, "middle"));
  parts.push(shape("polyline", { class: "line", points: points.map(([n, q]) => `${x(n)},${y(q)}`).join(" ") }));
  for (const [n, q] of points) parts.push(shape("circle", { cx: x(n), cy: y(q), r: 4 }));
  const [n, q] = points.at(-1);
  const label = text(`${q.toFixed(1)} %`, x(n) + 9, y(q) + 4, "start");
  label.classList.add("last");
  svg.replaceChildren(...parts, label);
  svg.setAttribute("aria-label", points.map(([n, q]) => `${q.toFixed(1)} percent with ${n} answered pictures`).join(", "));
}

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function text(content, x, y, anchor) {
  const element = shape("text", { x, y, "text-anchor": anchor });
  element.textContent = content;
  return element;
}
