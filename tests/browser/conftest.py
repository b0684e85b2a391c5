"""A real study's page in real Chromium."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import sync_playwright

import greffe
from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "the pages are tested in Chromium: `make browser` installs it"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "text.txt").write_text("\n".join(toy_documents(200, seed=0)) + "\n", "utf-8")
    for name, count, seed in (("train", 30, 1), ("valid", 12, 2), ("test", 30, 3)):
        rows = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        (folder / f"{name}.tsv").write_text("".join(rows), "utf-8")
    one_thread = ["train.threads=1"]
    with quiet():
        base = greffe.pretrain(
            folder / "text.txt",
            folder / "base",
            recipe="tiny",
            objective="hybrid",
            budget="12steps",
            changes=one_thread,
        )
        return greffe.compare(
            base,
            data=folder / "train.tsv",
            valid=folder / "valid.tsv",
            test=folder / "test.tsv",
            out=folder / "study",
            seeds=2,
            labels=[12],
            budget="2epochs",
            changes=one_thread,
        )


class Opened:
    """A page with everything that went wrong on it."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(accept_downloads=True, **context)
        self.page = self.context.new_page()
        self.complaints = []
        self.requests = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.url = path.as_uri()


@pytest.fixture
def open_page(browser):
    opened = []

    def open_(path, **context):
        opened.append(Opened(browser, path, **context))
        return opened[-1]

    yield open_
    for one in opened:
        one.context.close()


@pytest.fixture
def page(open_page, study):
    return open_page(study.report).page
