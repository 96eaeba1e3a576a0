<?php
include_once './common.php';

members_only();
$post = post_asked_for();
// A download counts only for who has opened the post, so that no other site links to the file.
$_SESSION['ss_view_'.$post['wr_id']] = true;
header('content-type: text/html; charset=utf-8');
echo '<p><a href="download.php?wr_id=', $post['wr_id'], '">', htmlspecialchars($post['bf_source']), '</a></p>';
