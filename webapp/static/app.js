// The dashboard's script for all pages: theme, the YAML gutter, import, the lost-connection
// notice. Charts and the run page's state: run.js. Everything else is htmx attributes.
"use strict";

// --- theme: before the first paint, kept in localStorage --------------------------------
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
const theme = () => root.dataset.theme || (prefersDark.matches ? "dark" : "light");
if (stored()) root.dataset.theme = stored();

function redrawAll() {
  document.querySelectorAll(".chart").forEach((chart) => htmx.trigger(chart, "redraw"));
}

function switchTheme() {
  root.dataset.theme = theme() === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode */ }
  redrawAll();
}

// --- YAML: line numbers, and flaws marked on them -----------------------------------------
function numberLines() {
  const area = document.getElementById("yaml");
  if (!area) return;
  const marked = new Set([...document.querySelectorAll("#flaws [data-line]")].map((li) => Number(li.dataset.line)));
  const gutter = document.getElementById("gutter");
  gutter.replaceChildren(...area.value.split("\n").map((_, index) => {
    const line = document.createElement("span");
    line.textContent = marked.has(index + 1) ? `✕ ${index + 1}` : `${index + 1}`;
    if (marked.has(index + 1)) line.className = "bad";
    return line;
  }));
  area.rows = Math.max(12, area.value.split("\n").length + 1);
}

function goToLine(number) {
  const area = document.getElementById("yaml");
  const lines = area.value.split("\n");
  const start = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[number - 1] || "").length);
}

function markFlawedFields() {
  const flawed = new Set([...document.querySelectorAll("#flaws [data-flaw]")].map((li) => li.dataset.flaw));
  document.querySelectorAll("[data-field]").forEach((field) => {
    const isFlawed = flawed.has(field.dataset.field);
    field.classList.toggle("is-flawed", isFlawed);
    field.querySelector("input, select, textarea").setAttribute("aria-invalid", String(isFlawed));
  });
}

// --- import: a file is opened in the editor, or submitted where there is none yet ----------
async function importFile(input) {
  const [file] = input.files;
  if (!file) return;
  if (input.dataset.submits !== undefined) return input.form.submit();
  const area = document.getElementById("yaml");
  area.value = await file.text();
  document.querySelector("[name=name]").value = file.name.replace(/\.ya?ml$/i, "");
  area.dispatchEvent(new Event("input", { bubbles: true }));
  input.value = "";
}

// --- a page that lost its server says so ----------------------------------------------------
function showLost(isLost) {
  const note = document.getElementById("lost");
  if (!note || note.hidden === !isLost) return;
  note.hidden = !isLost;
  note.textContent = isLost ? `No connection to the server since ${new Date().toLocaleTimeString()}. Shown is what was known then; trying again.` : "";
}

document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", switchTheme);
  prefersDark.addEventListener("change", redrawAll);
  numberLines();
  markFlawedFields();
  document.body.addEventListener("htmx:sseError", () => showLost(true));
  document.body.addEventListener("htmx:sseOpen", () => { showLost(false); redrawAll(); });
  document.body.addEventListener("htmx:sendError", () => showLost(true));
  document.body.addEventListener("htmx:oobAfterSwap", () => { numberLines(); markFlawedFields(); });
  document.body.addEventListener("input", (event) => {
    const source = document.getElementById("source");
    if (source) source.value = event.target.id === "yaml" ? "yaml" : "form";
    if (event.target.id === "yaml") numberLines();
  });
  document.body.addEventListener("change", (event) => { if (event.target.type === "file") importFile(event.target); });
  document.body.addEventListener("click", (event) => {
    const line = event.target.closest("[data-go]");
    if (line) goToLine(Number(line.dataset.go));
  });
});
