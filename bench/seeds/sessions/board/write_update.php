<?php
// Stores a post and shows it.
require __DIR__.'/common.php';

if (!get_session('ss_token') || !hash_equals(get_session('ss_token'), $_POST['token'] ?? '')) {
    alert('The form is too old: please open it again.');
}
set_session('ss_token', '');
$board = row('SELECT id FROM board WHERE id = ?', $_POST['board'] ?? '') ?? alert('There is no such board.', 404);
$author = $member['name'] ?? trim($_POST['author'] ?? '');
[$subject, $body] = [trim($_POST['subject'] ?? ''), $_POST['body'] ?? ''];
if ($author === '' || $subject === '' || strlen($author) > 60 || strlen($subject) > 200 || strlen($body) > 60000) {
    alert('A post has an author and a subject, and neither is long.');
}
query(
    'INSERT INTO post (board, subject, body, author, written) VALUES (?, ?, ?, ?, NOW())',
    $board['id'], $subject, $body, $author
);
redirect('/view.php?no='.database()->insert_id);
