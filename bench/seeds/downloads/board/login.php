<?php
include_once './common.php';

// Whoever knows the password is a member; a real board has a table of them.
if (($_POST['mb_password'] ?? '') !== 'board') {
    alert('Wrong name or password.');
}
session_regenerate_id(true);
$_SESSION['ss_mb_id'] = $_POST['mb_id'];
header('location: list.php');
