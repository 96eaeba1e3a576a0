<?php
// Ends the session. The visitor's browser keeps the cookie.
require __DIR__.'/common.php';

session_unset();
session_destroy();
redirect('/list.php');
