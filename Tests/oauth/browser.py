"""Walks the pages of a sign-in in headless chromium, as a person does. It is $BROWSER.

    browser.py URL

OAUTH_USER, OAUTH_PASSWORD   who signs in
OAUTH_ANSWER                 accept, deny, or look: only show the page
OAUTH_USER_CODE              the code of a device
OAUTH_PAGES                  the file that gets the text of each page, and of the last URL
"""

import os
import shutil
import sys
import tempfile
import time
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

# The first of these that a page has is pressed, before a form is sent.
ANSWERS = {
    "accept": "button[name=answer][value=accept], input[name=allow], button[value=accept], "
    "button#accept, button[value=approve]",
    "deny": "button[value=deny], input[value=Cancel], button#deny",
}
NAMES = "input[name=login], input[name=username], input[name=sub], input[name=user_code]"
PATIENCE = 40


def start():
    folder = tempfile.mkdtemp(prefix="authctl-chromium-")
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking",
                 f"--user-data-dir={folder}"):
        options.add_argument(word)
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(20)  # A page that hangs must not keep the browser open.
    return driver, folder


def visible(driver, selector):
    return [x for x in driver.find_elements(By.CSS_SELECTOR, selector) if x.is_displayed()]


def act(driver, answer):
    """Does the next thing on the page, and returns whether there was one."""
    passwords = visible(driver, "input[type=password]")
    names = [x for x in visible(driver, NAMES) if x.get_attribute("class") != "dummy-username"]
    denies = answer == "deny" and visible(driver, ANSWERS["deny"])
    if denies and not passwords:
        denies[0].click()
        return True
    for field in names:
        code = field.get_attribute("name") == "user_code"
        fill(field, os.environ["OAUTH_USER_CODE" if code else "OAUTH_USER"])
    for field in passwords:
        fill(field, os.environ["OAUTH_PASSWORD"])
    fields = passwords or names
    if fields:
        form = fields[-1].find_element(By.XPATH, "./ancestor::form")
        buttons = form.find_elements(By.CSS_SELECTOR, "[type=submit]")
        buttons = [x for x in buttons if x.is_displayed()]
        buttons[-1].click() if buttons else form.submit()
        return True
    buttons = visible(driver, ANSWERS[answer])
    if buttons:
        buttons[0].click()
    return bool(buttons)


def fill(field, text):
    field.clear()
    field.send_keys(text)


def walk(driver, url, pages):
    answer = os.environ.get("OAUTH_ANSWER", "accept")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    end = query.get("redirect_uri", "http://nowhere.invalid/")
    driver.get(url)
    seen, idle, deadline = None, 0, time.time() + PATIENCE
    acted = 0
    while time.time() < deadline and idle < 15:
        try:
            text = driver.find_element(By.TAG_NAME, "body").text
            if (driver.current_url, text) != seen:
                seen = (driver.current_url, text)
                print(f"== {seen[0]}\n{seen[1]}", file=pages, flush=True)
            if driver.current_url.startswith(end):
                return
            # A password that was refused is not sent again and again.
            did = answer != "look" and acted < 6 and act(driver, answer)
        except WebDriverException as error:
            # Between two pages.
            did = False
            if "ERR_CONNECTION_REFUSED" in str(error):
                print(f"== {driver.current_url}\n", file=pages, flush=True)
                return
        acted += bool(did)
        idle = 0 if did else idle + 1
        time.sleep(0.2)


def main():
    with open(os.environ["OAUTH_PAGES"], "a") as pages:
        driver, folder = start()
        try:
            walk(driver, sys.argv[1], pages)
        finally:
            print("== closed", file=pages, flush=True)
            driver.quit()
            shutil.rmtree(folder, ignore_errors=True)


main()
