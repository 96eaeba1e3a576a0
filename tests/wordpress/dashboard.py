"""Actions of a person in WordPress with a browser: log in, write, publish, log out."""

from scenarios import picture

# The key that goes to the beginning of a line, as WebDriver spells it.
HOME = "\ue011"
ENTER = "\ue007"
IS_SAVED = "return document.querySelector('.components-snackbar')?.innerText.includes(arguments[0])"


def log_in(browser, site, user, password):
    browser.open(site.url + "/wp-login.php")
    try_to_log_in(browser, user, password)
    browser.wait_for("the dashboard", "return document.querySelector('#wpadminbar') && location.pathname === '/wp-admin/'")


def try_to_log_in(browser, user, password):
    # The page's script puts the cursor into a field 200 ms after it is ready; text that is typed before would be lost.
    browser.wait_for("the form", "return document.readyState === 'complete' && document.activeElement?.id === 'user_login'")
    browser.fill("#user_login", user)
    browser.fill("#user_pass", password)
    browser.click("#wp-submit")


def log_out(browser, site):
    """Logs out by the link in the admin bar, which has a nonce."""
    browser.open(site.url + "/")
    browser.open(browser.run("return document.querySelector('#wp-admin-bar-logout a').href"))
    browser.wait_for("the farewell", "return location.search.includes('loggedout=true')")


def admin_bar(browser):
    """The text of the admin bar; None if there is none."""
    return browser.run("return document.querySelector('#wpadminbar')?.textContent ?? null")


def waits_for_moderation(browser):
    return browser.run("return document.querySelector('.comment-awaiting-moderation')?.innerText ?? null")


def edit(browser, site, post, words):
    """Writes these words at the beginning of a post's first paragraph."""
    open_editor(browser, f"{site.url}/wp-admin/post.php?post={post}&action=edit")
    browser.wait_for("the text", "return document.querySelector('p.block-editor-rich-text__editable')")
    browser.click("p.block-editor-rich-text__editable")
    browser.type("p.block-editor-rich-text__editable", HOME + words)
    picture(browser, "wordpress-editor")
    browser.wait_for("the button", "return document.querySelector('.editor-post-publish-button[aria-disabled=false]')")
    browser.click(".editor-post-publish-button")
    browser.wait_for("the post to be saved", IS_SAVED, "updated")


def draft(browser, site, title, text):
    """Writes a post and saves it unpublished; returns its number."""
    open_editor(browser, site.url + "/wp-admin/post-new.php")
    browser.click("h1.editor-post-title")
    browser.type("h1.editor-post-title", title + ENTER)
    browser.wait_for("a paragraph", "return document.querySelector('p.block-editor-rich-text__editable')")
    browser.type("p.block-editor-rich-text__editable", text)
    browser.click(".editor-post-save-draft")
    browser.wait_for("the draft to be saved", "return document.querySelector('.editor-post-saved-state.is-saved')")
    return browser.run("return wp.data.select('core/editor').getCurrentPostId()")


def publish(browser, site, post):
    open_editor(browser, f"{site.url}/wp-admin/post.php?post={post}&action=edit")
    browser.click(".editor-post-publish-panel__toggle")
    browser.wait_for("the second button", "return document.querySelector('.editor-post-publish-panel .editor-post-publish-button[aria-disabled=false]')")
    browser.click(".editor-post-publish-panel .editor-post-publish-button")
    browser.wait_for("the post to be published", "return wp.data.select('core/editor').isCurrentPostPublished()")


def open_editor(browser, url):
    browser.open(url)
    browser.wait_for("the editor", "return window.wp?.data?.select('core/editor')?.getCurrentPostId()"
                                   " && document.querySelector('.editor-post-publish-button, .editor-post-publish-panel__toggle')")
    browser.run("wp.data.dispatch('core/preferences').set('core/edit-post', 'welcomeGuide', false)")
    browser.wait_for("the guide to close", "return !document.querySelector('.edit-post-welcome-guide')")
