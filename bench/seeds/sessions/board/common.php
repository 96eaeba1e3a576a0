<?php
// What every page of the board begins with: the visitor's session, the settings, the member, the visit counter.
//
// A board in the manner of gnuboard5 and XE, for tests and measurements; none of their code. Like them it opens a session for whoever comes,
// knows members by nothing but the session, keeps the addresses of the day in cookies under md5 names, and forbids to keep any page.
require __DIR__.'/lib.php';

session_start();
header('Expires: 0');
header('Content-Type: text/html; charset=utf-8');

$config = row('SELECT * FROM config');
$member = get_session('ss_mb_id') ? row('SELECT id, name, level FROM member WHERE id = ?', get_session('ss_mb_id')) : null;
$boards = rows('SELECT id, title FROM board ORDER BY place');

// The first page of the day: the visitor is counted, and a cookie says so.
if (get_cookie('ck_visit_ip') !== $_SERVER['REMOTE_ADDR']) {
    set_cookie('ck_visit_ip', $_SERVER['REMOTE_ADDR'], 86400);
    count_visit();
}

// Who is on the board now.
query(
    'INSERT INTO online (address, member, place, seen) VALUES (?, ?, ?, NOW())
     ON DUPLICATE KEY UPDATE member = VALUES(member), place = VALUES(place), seen = NOW()',
    $_SERVER['REMOTE_ADDR'], $member['id'] ?? '', $_SERVER['SCRIPT_NAME']
);
query('DELETE FROM online WHERE seen < NOW() - INTERVAL 10 MINUTE');
