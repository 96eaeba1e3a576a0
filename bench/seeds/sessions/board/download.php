<?php
// A file, for members who have opened its post: so no other site links to it.
require __DIR__.'/common.php';

if (!$member) {
    alert('Members only: please log in.');
}
$post = post_asked_for();
if (!get_session('ss_view_'.$post['no'])) {
    alert('Please open the post first.');
}
if (!$post['file']) {
    alert('There is no such file.', 404);
}
if (!get_session('ss_down_'.$post['no'])) {
    query('UPDATE post SET downloads = downloads + 1 WHERE no = ?', $post['no']);
    set_session('ss_down_'.$post['no'], true);
}
$path = getenv('BOARD_FILES').'/'.basename($post['file']);
header('Content-Type: application/octet-stream');
header('Content-Length: '.filesize($path));
header('Content-Disposition: attachment; filename="'.$post['file'].'"');
$file = fopen($path, 'rb');
while (!feof($file)) {
    echo fread($file, 10 * 1024);
    flush();
}
