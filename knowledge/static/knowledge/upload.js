/* Sends chosen or dropped files one after another, each with its own progress and result. Without this script
   the form sends them all in one go, and the server's page of results says the same. */
"use strict";

function readableSize(bytes) {
    const units = ["B", "kB", "MB", "GB"];
    let step = 0;
    while (bytes >= 1024 && step < units.length - 1) {
        bytes /= 1024;
        step += 1;
    }
    return `${bytes.toLocaleString(document.documentElement.lang, { maximumFractionDigits: 1 })} ${units[step]}`;
}

function newBatch() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Upload {
    constructor(form) {
        this.form = form;
        this.texts = form.dataset;
        this.input = form.querySelector("input[type=file]");
        this.list = form.querySelector("[data-files]");
        this.button = form.querySelector("[data-send]");
        this.zone = form.querySelector("[data-drop]");
        this.rows = [];
        this.input.addEventListener("change", () => this.choose([...this.input.files]));
        form.addEventListener("submit", (event) => this.submit(event));
        for (const name of ["dragenter", "dragover"]) {
            this.zone.addEventListener(name, (event) => {
                event.preventDefault();
                this.zone.dataset.over = "";
            });
        }
        for (const name of ["dragleave", "drop"]) {
            this.zone.addEventListener(name, (event) => {
                event.preventDefault();
                delete this.zone.dataset.over;
            });
        }
        this.zone.addEventListener("drop", (event) => this.choose([...event.dataTransfer.files]));
    }

    choose(files) {
        // The very same file chosen again is one file; another one of the same name is not, see `check`.
        const identity = (file) => JSON.stringify([file.name, file.size, file.lastModified]);
        const known = new Map(this.rows.filter((row) => !row.sent).map((row) => [identity(row.file), row.file]));
        for (const file of files) known.set(identity(file), file);
        this.rows = [...known.values()].map((file) => this.row(file));
        this.list.replaceChildren(...this.rows.map((row) => row.element));
        this.input.value = "";
        // What is chosen is kept here, so the browser must not miss it in the emptied field.
        this.input.required = this.rows.length === 0;
        this.check();
    }

    row(file) {
        const element = document.createElement("li");
        const name = document.createElement("strong");
        const size = document.createElement("span");
        const text = document.createElement("span");
        const bar = document.createElement("progress");
        const remove = document.createElement("button");
        name.textContent = file.name;
        size.textContent = readableSize(file.size);
        size.className = "k-quiet";
        text.className = "k-file-text";
        bar.max = 1;
        bar.value = 0;
        bar.hidden = true;
        bar.setAttribute("aria-label", file.name);
        remove.type = "button";
        remove.className = "k-remove";
        remove.textContent = "×";
        remove.setAttribute("aria-label", `${this.texts.textRemove}: ${file.name}`);
        element.append(name, size, text, bar, remove);
        const row = { file, element, text, bar, remove, sent: false };
        remove.addEventListener("click", () => {
            this.rows = this.rows.filter((other) => other !== row);
            element.remove();
            this.input.required = this.rows.length === 0;
            this.check();
        });
        return row;
    }

    check() {
        const limit = Number(this.texts.maxBytes);
        const names = new Set();
        let unfit = false;
        for (const row of this.rows) {
            const again = names.has(row.file.name);
            names.add(row.file.name);
            const trouble = row.file.size > limit ? this.texts.textTooLarge : again ? this.texts.textSameName : "";
            unfit = unfit || trouble !== "";
            this.say(row, trouble, trouble ? "bad" : "");
        }
        this.button.disabled = unfit;
    }

    say(row, text, kind) {
        row.text.textContent = text;
        row.element.dataset.kind = kind;
    }

    async submit(event) {
        if (!this.rows.length) return;
        event.preventDefault();
        this.button.disabled = true;
        const batch = newBatch();
        let next = null;
        let unsent = 0;
        for (const row of this.rows) {
            row.remove.hidden = true;
            this.say(row, this.texts.textWaiting, "");
        }
        for (const row of this.rows) {
            const answer = await this.send(row, batch);
            if (answer) next = answer.next;
            else unsent += 1;
        }
        if (unsent === 0 && next) location.assign(next);
        else {
            this.button.disabled = false;
            for (const row of this.rows) row.remove.hidden = row.sent;
            this.rows = this.rows.filter((row) => !row.sent);
        }
    }

    /* Resolves to what the server says, or null where the file did not arrive or was not fit to be sent. */
    send(row, batch) {
        const data = new FormData(this.form);
        data.delete(this.input.name);
        data.set("batch", batch);
        data.append(this.input.name, row.file, row.file.name);
        if (this.rows.length > 1) for (const name of ["title", "source_key"]) data.delete(name);
        this.say(row, this.texts.textSending, "");
        row.bar.hidden = false;
        return new Promise((resolve) => {
            const request = new XMLHttpRequest();
            request.open("POST", this.form.action);
            request.setRequestHeader("Accept", "application/json");
            request.responseType = "json";
            request.upload.addEventListener("progress", (event) => {
                if (event.lengthComputable) row.bar.value = event.loaded / event.total;
            });
            const failed = (text) => {
                row.bar.hidden = true;
                this.say(row, text, "bad");
                resolve(null);
            };
            request.addEventListener("error", () => failed(this.texts.textFailed));
            request.addEventListener("load", () => {
                const answer = request.response;
                if (request.status === 200 && answer?.rows) {
                    const [result] = answer.rows;
                    row.sent = true;
                    row.bar.value = 1;
                    this.say(row, result.text, result.accepted ? "good" : "bad");
                    resolve(answer);
                } else if (answer?.errors) failed(answer.errors.join(" "));
                else if (request.status === 200 || request.status === 403) failed(this.texts.textLoggedOut);
                else failed(this.texts.textFailed);
            });
            request.send(data);
        });
    }
}

function guardSize(form) {
    const input = form.querySelector("input[type=file]");
    const problem = form.querySelector("[data-problem]");
    const button = form.querySelector("button");
    input.addEventListener("change", () => {
        const tooLarge = [...input.files].some((file) => file.size > Number(form.dataset.maxBytes));
        problem.hidden = !tooLarge;
        problem.textContent = tooLarge ? `${input.files[0].name}: ${form.dataset.textTooLarge}` : "";
        button.disabled = tooLarge;
    });
    // A second click while the first is under way changes nothing, so it is not offered.
    form.addEventListener("submit", () => setTimeout(() => { button.disabled = true; }));
    window.addEventListener("pageshow", () => { button.disabled = false; });
}

document.documentElement.dataset.scripted = "";
document.querySelectorAll("[data-upload]").forEach((form) => new Upload(form));
document.querySelectorAll("[data-upload-one]").forEach(guardSize);
