#!/bin/sh
echo "Content-Type: text/plain"
echo
echo "cgi $REQUEST_METHOD $QUERY_STRING $SCRIPT_NAME $PATH_INFO"
cat
