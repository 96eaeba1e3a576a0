<?php
include_once './common.php';

members_only();
$post = post_asked_for();
if (empty($_SESSION['ss_view_'.$post['wr_id']])) {
    alert('Please open the post first.');
}
$filepath = BOARD_DATA.'/file/'.$post['bf_file'];
if (!is_file($filepath)) {
    alert('There is no such file.');
}
$original = $post['bf_source'];

header('content-type: application/octet-stream');
header('content-length: '.filesize($filepath));
header("content-disposition: attachment; filename=\"$original\"; filename*=UTF-8''".rawurlencode($original));
header('content-transfer-encoding: binary');
header('pragma: no-cache');
header('expires: 0');

flush();

$fp = fopen($filepath, 'rb');
while (!feof($fp)) {
    echo fread($fp, 10 * 1024);
    flush();
    usleep(1000);
}
fclose($fp);
