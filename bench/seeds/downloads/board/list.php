<?php
include_once './common.php';

members_only();
header('content-type: text/html; charset=utf-8');
echo '<h1>Files for ', htmlspecialchars($_SESSION['ss_mb_id']), '</h1>';
foreach (posts() as $wr_id => $post) {
    echo '<p><a href="view.php?wr_id=', $wr_id, '">', htmlspecialchars($post['bf_source']), '</a></p>';
}
