<?php
// A post with its comments. It counts as seen once in a session, and only who has seen it may download its file.
require __DIR__.'/common.php';

$post = post_asked_for();
set_cookie('ck_bo_table', $post['board'], 86400);
if (!get_session('ss_view_'.$post['no'])) {
    query('UPDATE post SET views = views + 1 WHERE no = ?', $post['no']);
    set_session('ss_view_'.$post['no'], true);
}
$comments = rows('SELECT author, body, written FROM comment WHERE post = ? ORDER BY no', $post['no']);
$before = row('SELECT no, subject FROM post WHERE board = ? AND no < ? ORDER BY no DESC LIMIT 1', $post['board'], $post['no']);
$after = row('SELECT no, subject FROM post WHERE board = ? AND no > ? ORDER BY no LIMIT 1', $post['board'], $post['no']);

$title = $post['subject'];
require __DIR__.'/head.php';
?>
<article id="bo_v">
<p id="bo_v_info">By <strong><?= h($post['author']) ?></strong>, <?= $post['written'] ?>, seen <?= $post['views'] ?> times</p>
<?php if ($post['file']) { ?>
<section id="bo_v_file"><a class="view_file_download" href="/download.php?no=<?= $post['no'] ?>"><?= h($post['file']) ?></a></section>
<?php } ?>
<section id="bo_v_con">
<?php foreach (explode("\n", $post['body']) as $paragraph) { ?>
<p><?= h($paragraph) ?></p>
<?php } ?>
</section>
<section id="bo_vc">
<h3><?= count($comments) ?> comments</h3>
<?php foreach ($comments as $comment) { ?>
<article class="cmt"><header><span class="sv_member"><?= h($comment['author']) ?></span> <time><?= $comment['written'] ?></time></header>
<p><?= h($comment['body']) ?></p></article>
<?php } ?>
</section>
<ul class="bo_v_nb">
<?php foreach (['Before' => $before, 'Next' => $after] as $which => $one) { if ($one) { ?>
<li><?= $which ?>: <a href="/view.php?no=<?= $one['no'] ?>"><?= h($one['subject']) ?></a></li>
<?php } } ?>
</ul>
</article>
<?php
require __DIR__.'/tail.php';
