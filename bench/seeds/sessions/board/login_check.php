<?php
// From here on the session says who it is; its id stays what it was, as on boards of that time.
require __DIR__.'/common.php';

$found = row('SELECT id FROM member WHERE id = ? AND password = SHA2(CONCAT(salt, ?), 256)', $_POST['mb_id'] ?? '', $_POST['mb_password'] ?? '');
if (!$found) {
    alert('Wrong name or password.');
}
set_session('ss_mb_id', $found['id']);
redirect('/list.php');
