// The run page: charts, the chosen cell, zoom, linked hover, filters; state in the URL.
//
//   URL  ?ranks=0-255&checks=4-7&per_host=8   part of the grids that is shown
//        &cell=evidence.0.4.12.hidden.output   the comparison that is open
//        &writer=rank&type=StepEnded&q=loss    filter of events
"use strict";

const GRIDS = ["evidence", "timing"];
const state = () => new URLSearchParams(location.search);

function setState(changes) {
  const found = state();
  for (const [name, value] of Object.entries(changes)) value ? found.set(name, value) : found.delete(name);
  const text = found.toString();
  history.replaceState(null, "", text ? `?${text}` : location.pathname);
}

const charts = () => [...document.querySelectorAll(".chart")];
const isGrid = (chart) => GRIDS.includes(chart.dataset.kind);
const metaOf = (chart) => (chart.layout && chart.layout.meta) || {};

// --- drawing: the server sends a figure, Plotly redraws it in place ---------------------
async function draw(chart, text) {
  const figure = JSON.parse(text);
  chart.style.minWidth = `${(figure.layout.meta || {}).min_width || 0}px`;
  chart.style.height = `${figure.layout.height}px`;
  const zoom = state();
  // A user's own zoom stays over redraws, but not over another part of the grid.
  figure.layout.uirevision = ["ranks", "checks", "per_host"].map((name) => zoom.get(name)).join();
  const isNew = !chart.layout;
  await Plotly.react(chart, figure.data, figure.layout, { responsive: true, displayModeBar: false });
  if (isNew) listen(chart);
  if (isGrid(chart)) markChosen(chart);
}

function listen(chart) {
  for (const name of ["cursor", "row-cursor", "chosen"]) {
    const mark = document.createElement("i");
    mark.className = name;
    mark.hidden = true;
    chart.append(mark);
  }
  chart.on("plotly_hover", (event) => linkHover(chart, event.points[0]));
  chart.on("plotly_unhover", unlinkHover);
  if (!isGrid(chart)) return;
  chart.on("plotly_click", (event) => { const point = event.points.find((p) => p.data.type === "heatmap"); if (point) choose(chart, point.pointIndex[0], point.pointIndex[1]); });
  chart.addEventListener("dblclick", () => zoomTo({ ranks: "", checks: "" }));
  chart.parentElement.addEventListener("keydown", (event) => steer(chart, event));
}

// --- linked hover: one moment on all charts, one rank in all rows ------------------------
function secondsOf(chart, point) {
  const times = metaOf(chart).at_s;
  return times ? times[Math.round(point.x)] : Number(point.x);
}

function columnAt(times, seconds) {
  let best = 0;
  for (let i = 1; i < times.length; i += 1) if (Math.abs(times[i] - seconds) < Math.abs(times[best] - seconds)) best = i;
  return best;
}

function linkHover(from, point) {
  const seconds = secondsOf(from, point);
  const rank = isGrid(from) ? point.y : point.data.name;
  if (!Number.isFinite(seconds)) return;
  for (const chart of charts()) {
    if (!chart._fullLayout || !chart.layout.xaxis) continue;
    const times = metaOf(chart).at_s;
    if (times && !times.length) continue;
    const { xaxis, yaxis } = chart._fullLayout;
    place(chart.querySelector(".cursor"), xaxis._offset + xaxis.d2p(times ? columnAt(times, seconds) : seconds), yaxis._offset, 1, yaxis._length, chart !== from);
    const row = isGrid(chart) ? chart.data[0].y.indexOf(rank) : -1;
    place(chart.querySelector(".row-cursor"), xaxis._offset, yaxis._offset + yaxis.d2p(row) - rowHeight(chart) / 2, xaxis._length, rowHeight(chart), row >= 0 && chart !== from);
  }
  document.querySelectorAll("[data-rank]").forEach((row) => row.classList.toggle("is-linked", row.dataset.rank === rank));
}

function unlinkHover() {
  document.querySelectorAll(".cursor, .row-cursor").forEach((mark) => { mark.hidden = true; });
  document.querySelectorAll(".is-linked").forEach((row) => row.classList.remove("is-linked"));
}

const rowHeight = (chart) => chart._fullLayout.yaxis._length / Math.max(1, chart.data[0].y.length);

function place(mark, left, top, width, height, isShown) {
  if (!mark) return;
  mark.hidden = !isShown;
  if (isShown) Object.assign(mark.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
}

// --- choosing a cell: a band or a folded column opens, a single cell shows its values ------
function choose(chart, row, column) {
  const { rows, columns, surfaces } = metaOf(chart);
  const [firstRank, lastRank] = rows[row];
  const [first, last, firstCheck, lastCheck] = columns[column];
  if (lastRank - firstRank > 0) return zoomTo({ ranks: `${firstRank}-${lastRank}`, per_host: "" });
  if (first !== last) return zoomTo({ checks: `${firstCheck}-${lastCheck}` });
  const kind = chart.dataset.kind, group = chart.dataset.group;
  setState({ cell: [kind, group, firstRank, firstCheck, surfaces[column]].join(".") });
  openComparison();
  markChosen(chart);
}

function chosenCell() {
  const parts = (state().get("cell") || "").split(".");
  if (parts.length < 5) return null;
  const [kind, group, rank, check] = parts;
  return { kind, group, rank: Number(rank), check: Number(check), surface: parts.slice(4).join(".") };
}

function openComparison() {
  const cell = chosenCell();
  document.querySelectorAll(".comparison").forEach((box) => {
    if (!cell || box.id !== `column-${cell.kind}-${cell.group}`) return box.replaceChildren();
    const query = new URLSearchParams({ kind: cell.kind, group: cell.group, rank: cell.rank, check: cell.check, surface: cell.surface });
    htmx.ajax("GET", `${location.pathname}/column?${query}`, { target: box, swap: "innerHTML" });
  });
}

function markChosen(chart) {
  const cell = chosenCell();
  const mark = chart.querySelector(".chosen");
  if (!mark || !chart.data.length) return;
  const { rows, columns, surfaces } = metaOf(chart);
  const isHere = cell && cell.kind === chart.dataset.kind && cell.group === chart.dataset.group && surfaces;
  const row = isHere ? rows.findIndex(([a, b]) => a === cell.rank && b === cell.rank) : -1;
  const column = isHere ? columns.findIndex((c, i) => c[2] === cell.check && surfaces[i] === cell.surface) : -1;
  if (row < 0 || column < 0) { mark.hidden = true; return; }
  const { xaxis, yaxis } = chart._fullLayout;
  const left = xaxis.d2p(column - 0.5);
  place(mark, xaxis._offset + left, yaxis._offset + row * rowHeight(chart), Math.max(4, xaxis.d2p(column + 0.5) - left), rowHeight(chart), true);
}

function zoomTo(changes) {
  setState({ ...changes, cell: "" });
  openComparison();
  showZoom();
  charts().filter(isGrid).forEach((chart) => htmx.trigger(chart, "redraw"));
}

function showZoom() {
  const zoom = state();
  const parts = [zoom.get("ranks") && `ranks ${zoom.get("ranks").replace("-", " to ")}`, zoom.get("checks") && `checks ${zoom.get("checks").replace("-", " to ")}`].filter(Boolean);
  document.querySelectorAll("[data-zoom-note]").forEach((note) => {
    note.hidden = !parts.length;
    note.replaceChildren();
    if (!parts.length) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "ghost";
    button.dataset.zoomOut = "";
    button.textContent = "Show all";
    note.append(`Shown are ${parts.join(", ")}. `, button);
  });
}

// --- keyboard: arrows walk over the cells, Enter opens, Escape closes ----------------------
function steer(chart, event) {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (event.key === "Escape") { setState({ cell: "" }); openComparison(); markChosen(chart); return; }
  if (!chart.data || !chart.data.length || !(event.key in steps || event.key === "Enter")) return;
  const grid = chart.data[0];
  const [row, column] = (chart.dataset.at || "0,0").split(",").map(Number);
  event.preventDefault();
  if (event.key === "Enter") return choose(chart, row, column);
  const [down, right] = steps[event.key];
  const at = chart.dataset.at ? [row + down, column + right] : [0, 0];
  at[0] = Math.min(Math.max(at[0], 0), grid.y.length - 1);
  at[1] = Math.min(Math.max(at[1], 0), grid.x.length - 1);
  chart.dataset.at = at.join();
  const { xaxis, yaxis } = chart._fullLayout;
  const left = xaxis.d2p(at[1] - 0.5);
  place(chart.querySelector(".chosen"), xaxis._offset + left, yaxis._offset + at[0] * rowHeight(chart), Math.max(4, xaxis.d2p(at[1] + 0.5) - left), rowHeight(chart), true);
  const said = document.getElementById(`said-${chart.dataset.kind}-${chart.dataset.group}`);
  said.textContent = (grid.text[at[0]][at[1]] || "").replace(/<br>/g, ", ").replace(/<[^>]*>/g, "");
}

// --- what a reader has chosen, selected or scrolled to is not taken away by a refresh -------
function isBeingRead(target) {
  const selection = getSelection();
  const holds = selection && !selection.isCollapsed && target.contains(selection.anchorNode);
  return holds || (target.id === "tail" && target.scrollTop > 4);
}

function keepForms() {
  document.querySelectorAll("[data-url-state]").forEach((form) => {
    const changes = {};
    for (const [name, value] of new FormData(form)) changes[name] = value;
    setState(changes);
  });
}

// Before the page is ready: htmx asks for the first figures at that moment.
document.addEventListener("htmx:configRequest", (event) => {
  const chart = event.target;
  if (!chart.classList?.contains("chart")) return;
  event.detail.parameters.theme = theme();
  for (const name of isGrid(chart) ? ["ranks", "checks", "per_host"] : []) {
    const value = state().get(name);
    if (value) event.detail.parameters[name] = value;
  }
});

document.addEventListener("DOMContentLoaded", () => {
  showZoom();
  openComparison();
  const body = document.body;
  body.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.target.classList.contains("chart") && event.detail.xhr.status === 200) draw(event.target, event.detail.xhr.responseText);
  });
  body.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.requestConfig.triggeringEvent?.type.startsWith("sse:") && isBeingRead(event.detail.target)) event.detail.shouldSwap = false; });
  body.addEventListener("htmx:oobBeforeSwap", (event) => { if (event.detail.target.contains(document.activeElement) && document.activeElement.tagName === "SELECT") event.detail.shouldSwap = false; });
  document.getElementById("tail").addEventListener("scroll", (event) => { if (event.target.scrollTop === 0) htmx.trigger(event.target, "refresh"); });
  body.addEventListener("change", (event) => {
    if (event.target.dataset.zoom) zoomTo({ [event.target.dataset.zoom]: event.target.value, ranks: "" });
    if (event.target.closest("[data-url-state]")) keepForms();
  });
  body.addEventListener("input", (event) => { if (event.target.closest("[data-url-state]")) keepForms(); });
  body.addEventListener("submit", (event) => { if (event.target.matches("[data-url-state]")) event.preventDefault(); });
  body.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) { setState({ cell: "" }); openComparison(); charts().filter(isGrid).forEach(markChosen); }
    if (event.target.closest("[data-zoom-out]")) zoomTo({ ranks: "", checks: "" });
  });
  addEventListener("resize", () => charts().filter(isGrid).forEach((chart) => { if (chart.data) markChosen(chart); }));
});
