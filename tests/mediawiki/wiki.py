"""Actions of a person in MediaWiki with a browser: log in, edit, look at a preview, log out."""

from scenarios import picture


def address(title, more=""):
    """The URL of a page that MediaWiki itself links to, redirects to after an edit, and purges."""
    return f"/index.php?title={title}{more}"


def log_in(browser, site, user, password):
    browser.open(site.url + address("Special:UserLogin"))
    browser.fill("#wpName1", user)
    browser.fill("#wpPassword1", password)
    browser.click("#wpLoginAttempt")
    browser.wait_for("the name", "return document.readyState === 'complete' && document.querySelector('#pt-userpage')")


def log_out(browser, site):
    """Logs out by the link, which a script follows with a token."""
    browser.open(site.url + address("Main_Page"))
    browser.wait_for("the script", "return mw.loader.getState('mediawiki.page.ready') === 'ready'")
    # The link may be in a closed menu.
    browser.run("document.querySelector('#pt-logout a').click()")
    browser.wait_for("the farewell", "return document.readyState === 'complete' && mw.config.get('wgUserName') === null")


def who(browser):
    """The name of the visitor for whom the page was made, or None."""
    return browser.run("return mw.config.get('wgUserName')")


def edit(browser, site, title, text, shot=None):
    """Replaces the page's text."""
    write(browser, site, title, text)
    if shot:
        picture(browser, shot)
    browser.click("#wpSave")
    browser.wait_for("the page", "return document.readyState === 'complete' && !document.querySelector('#wpTextbox1') && mw.config.get('wgAction') === 'view'")


def preview(browser, site, title, text):
    """Looks at a preview of the text, without saving it."""
    write(browser, site, title, text)
    browser.click("#wpPreview")
    browser.wait_for("the preview", "return document.readyState === 'complete' && document.querySelector('#wikiPreview')?.innerText.includes(arguments[0])", text)


def write(browser, site, title, text):
    browser.open(site.url + address(title, "&action=edit"))
    # The form of an earlier click may still be on the screen for a moment.
    browser.wait_for("the form", "return document.readyState === 'complete' && document.querySelector('#wpTextbox1')")
    browser.fill("#wpTextbox1", text)
