/* Follows jobs on a page: asks for those that are not finished once a second, fills the marked places anew,
   and stops when all are. A [data-region] is fetched whole instead, as the server draws it. */
"use strict";

const AT_ONCE = 20;

function show(element, visible) {
    if (element) element.hidden = !visible;
}

function fillLog(entries, list) {
    for (const entry of entries.slice(list.children.length)) {
        const item = document.createElement("li");
        const at = document.createElement("time");
        const text = document.createElement("span");
        at.textContent = entry.at;
        text.textContent = entry.text;
        item.append(at, text);
        list.append(item);
        list.scrollTop = list.scrollHeight;
    }
}

function fill(place, job) {
    const values = {
        ...job,
        running: job.state === "RUNNING",
        stage_tells: job.state === "RUNNING" || job.state === "FAILED",
        cancelling: job.cancel_requested && !job.finished,
        error_text: job.error ? job.error.text : "",
    };
    for (const field of place.querySelectorAll("[data-field]")) {
        const text = String(values[field.dataset.field] ?? "");
        if (field.textContent !== text) field.textContent = text;
        if (field.dataset.field === "state_label") field.dataset.state = job.state;
    }
    for (const part of place.querySelectorAll("[data-show]")) show(part, Boolean(values[part.dataset.show]));
    for (const bar of place.querySelectorAll("[data-bar]")) {
        bar.setAttribute("width", job.percent);
        const frame = bar.closest("[role=progressbar]");
        frame.setAttribute("aria-valuenow", job.percent);
        frame.dataset.state = job.state;
    }
    if (job.finished) place.dataset.finished = "";
}

function followJobs(page) {
    let pause = 1000;
    const open = () => [...page.querySelectorAll("[data-job]:not([data-finished])")];

    async function ask() {
        const places = open();
        if (!places.length) return;
        if (document.hidden) return void setTimeout(ask, pause);
        const ids = places.slice(0, AT_ONCE).map((place) => place.dataset.job);
        try {
            const answer = await fetch(`${page.dataset.liveUrl}?ids=${ids.join(",")}`, {
                headers: { Accept: "application/json" },
            });
            if (answer.redirected) return show(page.querySelector("[data-logged-out]"), true);
            if (!answer.ok) throw new Error(answer.status);
            const { jobs } = await answer.json();
            show(page.querySelector("[data-offline]"), false);
            pause = 1000;
            for (const place of places) {
                const job = jobs[place.dataset.job];
                if (!job) continue;
                fill(place, job);
                const list = page.querySelector(`[data-log="${job.id}"]`);
                if (list) fillLog(job.log, list);
            }
        } catch {
            show(page.querySelector("[data-offline]"), true);
            pause = Math.min(pause * 2, 15000);
        }
        if (open().length) setTimeout(ask, pause);
        // What can be done with a job differs once it is finished; the server knows what.
        else if ("reloadWhenFinished" in page.dataset) location.reload();
    }
    setTimeout(ask, 500);
}

function followRegion(region) {
    async function ask() {
        if (!document.hidden && !region.contains(document.activeElement)) {
            try {
                const answer = await fetch(location.href);
                if (answer.redirected || !answer.ok) return;
                const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(region.id);
                if (fresh) {
                    region.replaceChildren(...fresh.childNodes);
                    region.dataset.busy = fresh.dataset.busy;
                }
            } catch {
                /* The next round tries again. */
            }
        }
        setTimeout(ask, region.dataset.busy === "1" ? 1500 : 10000);
    }
    setTimeout(ask, region.dataset.busy === "1" ? 1500 : 10000);
}

document.querySelectorAll("[data-live-url]").forEach(followJobs);
document.querySelectorAll("[data-region]").forEach(followRegion);
