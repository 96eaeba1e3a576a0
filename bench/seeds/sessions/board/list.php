<?php
// A board's posts, the newest first, with those that are pinned above them.
require __DIR__.'/common.php';

const PAGE = 20;
$board = board_asked_for();
set_cookie('ck_bo_table', $board['id'], 86400);
$word = $_GET['word'] ?? '';
$pages = max(1, (int)ceil(row('SELECT COUNT(*) AS posts FROM post WHERE board = ? AND subject LIKE ?', $board['id'], "%$word%")['posts'] / PAGE));
$page = min(max(1, (int)($_GET['page'] ?? 1)), $pages);
$pinned = rows('SELECT no, subject, author, written, views, comments FROM post WHERE board = ? AND pinned = 1 ORDER BY no DESC', $board['id']);
$posts = rows(
    'SELECT no, subject, author, written, views, comments, file FROM post WHERE board = ? AND subject LIKE ? ORDER BY no DESC LIMIT ?, ?',
    $board['id'], "%$word%", ($page - 1) * PAGE, PAGE
);

$title = $board['title'];
require __DIR__.'/head.php';
?>
<table id="bo_list">
<thead><tr><th>No.</th><th>Subject</th><th>Author</th><th>Views</th><th>Date</th></tr></thead>
<tbody>
<?php foreach ([...$pinned, ...$posts] as $number => $post) { $is_pinned = $number < count($pinned); ?>
<tr class="<?= $is_pinned ? 'bo_notice' : 'even' ?>">
<td class="td_num2"><?= $is_pinned ? '<strong class="notice_icon">Notice</strong>' : $post['no'] ?></td>
<td class="td_subject"><div class="bo_tit"><a href="/view.php?no=<?= $post['no'] ?>"><?= h($post['subject']) ?></a>
<?php if ($post['comments']) { ?><span class="sound_only">Comments</span><span class="cnt_cmt"><?= $post['comments'] ?></span><?php } ?>
<?php if (!empty($post['file'])) { ?><i class="fa fa-download" aria-hidden="true"></i><?php } ?>
</div></td>
<td class="td_name sv_use"><span class="sv_member"><?= h($post['author']) ?></span></td>
<td class="td_num"><?= $post['views'] ?></td>
<td class="td_datetime"><?= substr($post['written'], 0, 10) ?></td>
</tr>
<?php } ?>
</tbody>
</table>
<nav class="pg_wrap">
<?php for ($one = max(1, $page - 5); $one <= min($pages, $page + 5); $one++) { ?>
<a class="pg_page" href="/list.php?board=<?= h($board['id']) ?>&amp;page=<?= $one ?>"><?= $one ?></a>
<?php } ?>
</nav>
<p class="btn_bo_user"><a href="/write.php?board=<?= h($board['id']) ?>">Write</a></p>
<?php
require __DIR__.'/tail.php';
