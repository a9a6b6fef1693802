// Takes a dropped file to the program that serves this page, and shows how far it is.
const element = (id) => document.getElementById(id);
const form = element("drop");

function fail(message) {
  element("working").hidden = true;
  element("failed").hidden = false;
  element("failed").textContent = message;
  form.hidden = false;
}

function show(found) {
  if (found.state === "done") return location.reload();
  if (found.state === "failed") return fail(found.error);
  if (found.state === "waiting") return undefined;
  form.hidden = true;
  element("failed").hidden = true;
  element("working").hidden = false;
  element("step").textContent = `${found.step}…`;
  element("share").value = found.share;
  return setTimeout(watch, 300);
}

async function watch() {
  try {
    show(await (await fetch("/api/progress")).json());
  } catch {
    fail("The program does not answer: is halfmask explore still running?");
  }
}

async function take(file) {
  if (!file) return;
  show({ state: "working", step: `copying ${file.name}`, share: 0 });
  try {
    const answer = await fetch(`/api/file?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const found = await answer.json();
    if (!answer.ok) fail(found.error);
  } catch {
    fail("The program does not answer: is halfmask explore still running?");
  }
}

element("file").addEventListener("change", (event) => take(event.target.files[0]));
form.addEventListener("submit", (event) => event.preventDefault());
for (const name of ["dragover", "drop"]) {
  addEventListener(name, (event) => {
    event.preventDefault();
    form.classList.toggle("over", name === "dragover");
    if (name === "drop" && !form.hidden) take(event.dataTransfer.files[0]);
  });
}
watch();
