"""A Flask application that reports the visitor's address and scheme. The lines in between are those of docs/http-applications.md."""

from flask import Flask, jsonify, request

app = Flask(__name__)
# lines 1 of the page


@app.get("/who")
def who():
    response = jsonify(address=request.remote_addr, scheme=request.scheme)
    response.cache_control.no_store = True
    return response
