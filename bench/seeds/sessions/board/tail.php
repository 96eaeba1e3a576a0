<?php
// Below each page: the latest of all boards, who is here, how many have come.
$here = row("SELECT COUNT(*) AS visitors, SUM(member <> '') AS members FROM online");
?>
</main>
<aside id="latest">
<?php foreach ($boards as $one) { ?>
<section class="lat">
<h3><a href="/list.php?board=<?= h($one['id']) ?>"><?= h($one['title']) ?></a></h3>
<ul>
<?php foreach (rows('SELECT no, subject, comments FROM post WHERE board = ? ORDER BY no DESC LIMIT 5', $one['id']) as $post) { ?>
<li><a href="/view.php?no=<?= $post['no'] ?>"><?= h($post['subject']) ?></a> <span class="cnt_cmt"><?= $post['comments'] ?></span></li>
<?php } ?>
</ul>
</section>
<?php } ?>
</aside>
<footer id="ft">
<p id="visit">Visits: <?= h($config['visits']) ?>. Here now: <?= $here['visitors'] ?>, members among them: <?= (int)$here['members'] ?>.</p>
</footer>
</body>
</html>
